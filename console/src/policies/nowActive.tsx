// Says that a version is active, and offers to go back to the one before.
import { Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { answer, api } from "../api/client";
import { messageOf } from "../api/problem";
import { askAnew } from "./queries";

/** Long enough to see the first decisions of the new version go wrong. */
const OFFERED_MS = 30_000;

export function sayNowActive(version: number, before: number): void {
  const id = `active-${version}-${before}`;
  const undo = async () => {
    notifications.hide(id);
    try {
      const params = { path: { version: before } };
      // If somebody activated another one meanwhile, nothing is changed.
      const body = { expect_active: version };
      await answer(api.POST("/v1/policies/versions/{version}/activate", { params, body }));
      notifications.show({ title: `Version ${before} is active again.`, message: "", color: "teal" });
    } catch (error) {
      notifications.show({ title: "Not undone", message: messageOf(error), color: "red", autoClose: false });
    }
    await askAnew();
  };
  notifications.show({
    id,
    title: `Version ${version} is active.`,
    message: (
      <Group gap="xs" mt={4}>
        <Button size="compact-sm" variant="default" onClick={undo}>
          Undo
        </Button>
        <Text size="sm" className="quiet">
          to go back to version {before}
        </Text>
      </Group>
    ),
    color: "teal",
    autoClose: OFFERED_MS,
  });
}
