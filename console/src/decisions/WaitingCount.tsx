// The number of pending approvals, shown in the menu and in the window's title.
import { Badge } from "@mantine/core";
import { useEffect } from "react";
import { countInTitle } from "../parts/windowTitle";
import { useWaitingCount } from "./waiting";

export function WaitingCount() {
  const count = useWaitingCount();
  useEffect(() => {
    countInTitle(count);
    return () => countInTitle(0);
  }, [count]);
  if (count === 0) return null;
  return (
    <Badge size="sm" circle={count < 10} aria-label={`${count} waiting`}>
      {count}
    </Badge>
  );
}
