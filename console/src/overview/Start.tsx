// What a new organization sees before its first event.
import { Button } from "@mantine/core";
import { IconRocket } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { Empty } from "../parts/Answered";

export function Start() {
  return (
    <Empty
      title="No events yet"
      icon={<IconRocket size={26} />}
      action={
        <Button component={Link} to="/setup">
          Connect your first agent
        </Button>
      }
    >
      This page shows at a glance whether events arrive, whether alerts reach their receivers, and how quickly
      agents get decisions. Setup takes a few minutes: create a key, add one line of code, and your first
      event appears.
    </Empty>
  );
}
