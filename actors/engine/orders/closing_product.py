"""The product of an order that closes a position. Pure."""

from onebroker.config.vocabulary import Product

_ORDER_PRODUCTS = {Product.CNC.value: Product.CNC, Product.MIS.value: Product.MIS}
"""A position's product -> the product of the order that closes it; NRML for all others."""


def closing_product(product: str) -> Product:
    """Return the product of the order that closes a position of this product."""
    return _ORDER_PRODUCTS.get(product, Product.NRML)
