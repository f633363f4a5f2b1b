// What is said of an event without alerts: not every event that has none raised none.

/** As long as most keep the record of deliveries. */
const KEPT_DAYS = 30;
const DAY_MS = 86_400_000;
/** By then rules have looked at an event, unless much is waiting. */
const MATCHED_WITHIN_MS = 60_000;

/** Whether an event came so lately that its alerts may be still to come. */
export function isFresh(receivedAt: string, now: number): boolean {
  return now - Date.parse(receivedAt) < MATCHED_WITHIN_MS;
}

export function withoutAlerts(receivedAt: string, now: number): string {
  if (isFresh(receivedAt, now)) return "No rule has raised an alert for this event yet.";
  if (now - Date.parse(receivedAt) > KEPT_DAYS * DAY_MS)
    return `Deliveries are kept for ${KEPT_DAYS} days by default; this event is older.`;
  return "No rule raised an alert for this event.";
}
