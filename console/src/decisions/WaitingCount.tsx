// The number of pending approvals, shown in the menu and in the window's title.
import { Badge } from "@mantine/core";
import { useEffect } from "react";
import { countInTitle } from "../parts/windowTitle";
import { useWaitingCount } from "./waiting";

export function WaitingCount() {
  const count = useWaitingCount();
  useEffect(() => {
    countInTitle(count);
    return () => countInTitle("");
  }, [count]);
  if (count === "") return null;
  return (
    <Badge size="sm" circle={count.length === 1} aria-label={`${count} waiting`}>
      {count}
    </Badge>
  );
}
