"""What is Dhan's alone, through the real session: a pasted token, and a stream that says of orders what the book says. The contract
suite has the rest."""

import base64

import msgspec
import trio

CODE = "dhan"


async def test_book_and_order_stream_say_the_same_of_an_order(day, alone, world, autojump_clock):
    async with day.market(), day.service():
        await alone.until_live()
        sent = await world.place(CODE)
        await day.until(lambda: sent.answer.order_id in alone.view.orders, 10)
        said = []
        for _ in range(100):
            await trio.sleep(0.1)
            said.append(alone.view.orders[sent.answer.order_id])
        assert set(map(msgspec.json.encode, said)) == {msgspec.json.encode(said[0])}


def paste(day, token):
    """Put a token into the settings, and nothing to log in with."""
    dialect = day.simulator.gateways[CODE].dialect
    dialect.credentials = {"client_id": dialect.credentials["client_id"], "access_token": token}


async def test_a_pasted_token_needs_no_login_call(day, alone, world, autojump_clock):
    paste(day, day.simulator.gateways[CODE].dialect.session()["accessToken"])
    async with day.market(), day.service(log_in=False):
        await alone.until_live()
        assert not world.calls.logins(CODE)


async def test_a_pasted_token_is_renewed_before_it_ends(day, alone, world, autojump_clock):
    head, _, last = day.simulator.gateways[CODE].dialect.session()["accessToken"].split(".")
    ends = base64.urlsafe_b64encode(msgspec.json.encode({"exp": day.clock.epoch() + 700})).rstrip(b"=").decode()
    token = f"{head}.{ends}.{last}"
    paste(day, token)
    async with day.market(), day.service(log_in=False):
        await alone.until_live()
        await day.until(lambda: alone.view.live and alone.view.access.login.tokens["access_token"] != token, 300)
        await alone.until_live(120)
        assert world.calls.logins(CODE) == {"/v2/RenewToken": 1}
