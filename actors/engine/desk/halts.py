"""Halts trading and lets it go on, for a person. The halt is stored before the answer, and survives restarts (order-engine 4.10)."""

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.desk_context import DeskContext
from onebroker.actors.engine.desk.messages import HaltTrading, ResumeTrading
from onebroker.actors.store.durable import DurableError, Halt
from onebroker.config.events import HaltOff, HaltOn
from onebroker.config.messages import halts as texts
from onebroker.config.refusal import Refusal


async def halt_trading(desk: DeskContext, message: HaltTrading) -> EngineAnswer:
    """Close the gate. The answer tells whether an entry may still be leaving. Raises Refusal 503 when the halt cannot be stored: it holds all the
    same, until the service ends."""
    context = desk.context
    halt = Halt(mode=message.mode, reason=message.reason, since=context.clock.now().isoformat(timespec="milliseconds"))
    context.events.tell(HaltOn(mode=halt.mode.value, reason=halt.reason))
    try:
        is_still = await context.gate.close(halt, context.durable, desk.ask_seconds())
    except DurableError as error:
        raise Refusal(503, texts.not_stored(str(error))) from error
    return EngineAnswer(status=200, body={**halt_body(halt), "entries_under_way": not is_still})


async def resume_trading(desk: DeskContext, message: ResumeTrading) -> EngineAnswer:
    """Open the gate. Raises Refusal 409 when trading is not halted, 503 when that is not known yet or cannot be stored: then it stays so."""
    context = desk.context
    if not context.gate.known:
        raise Refusal(503, texts.NOT_KNOWN)
    if context.gate.halt.value is None:
        raise Refusal(409, texts.NOT_HALTED)
    try:
        await context.gate.open(context.durable)
    except DurableError as error:
        raise Refusal(503, texts.not_resumed(str(error))) from error
    context.events.tell(HaltOff())
    return EngineAnswer(status=200, body=halt_body(None))


def halt_body(halt: Halt | None) -> dict[str, object]:
    """Return a halt as the API shows it."""
    if halt is None:
        return {"halted": False}
    return {"halted": True, "mode": halt.mode.value, "reason": halt.reason, "since": halt.since}
