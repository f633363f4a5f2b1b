// The number of pending approvals, shown in the menu.
import { Badge } from "@mantine/core";
import { useWaitingCount } from "./waiting";

export function WaitingCount() {
  const count = useWaitingCount();
  if (count === 0) return null;
  return (
    <Badge size="sm" circle={count < 10} aria-label={`${count} waiting`}>
      {count}
    </Badge>
  );
}
