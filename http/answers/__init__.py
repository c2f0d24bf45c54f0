"""The types of the answers, by area, with an example of each. They become the schemas of the API's documents, and the tests check every answer
against them. A text below a field becomes its description. A field that can be `UNSET` is left out of some answers."""
