"""Makes the alerts of a service from its settings. It fails before the service starts: a receiver that cannot be used is found in the morning."""

from onebroker.actors.alerts.actor import AlertInputs
from onebroker.actors.alerts.inbox import AlertInbox
from onebroker.actors.alerts.throttle import QuietHours
from onebroker.config.settings import AlertsSettings


def alert_inputs(settings: AlertsSettings) -> AlertInputs | None:
    """Return whom to tell what; None without a receiver. Raises SettingsError where Apprise is missing or cannot read a URL."""
    if not settings.to:
        return None
    # Imported here: most services have no receiver, and Apprise need not be installed.
    from onebroker.actors.alerts.apprise_receivers import open_receivers

    return AlertInputs(
        inbox=AlertInbox(),
        receivers=open_receivers(settings.to),
        kinds=settings.sent_kinds,
        quiet=QuietHours(begins=settings.quiet_from, ends=settings.quiet_until),
    )
