// Where a new organisation begins: without any event there is nothing to look at yet.
import { Button } from "@mantine/core";
import { IconRocket } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { Empty } from "../parts/Answered";

export function Start() {
  return (
    <Empty
      title="Nothing has happened yet"
      icon={<IconRocket size={26} />}
      action={
        <Button component={Link} to="/setup">
          Connect your first agent
        </Button>
      }
    >
      Here you will see at a glance whether events arrive, whether alerts reach their receivers, and how fast
      agents get their decisions. It takes a few minutes: a key, one line of code, and the first event shows
      up.
    </Empty>
  );
}
