"""What the brokers' codecs share: reading fields, order words, candles, logins."""
