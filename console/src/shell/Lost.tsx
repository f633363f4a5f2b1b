// What is shown for an address that leads nowhere.
import { Text } from "@mantine/core";
import { Card, Frame } from "./Outside";

export default function Lost() {
  return (
    <Frame>
      <Card title="There is no such page" links={{ "Go to the overview": "/" }}>
        <Text size="sm">The address may be mistyped, or what it led to is gone.</Text>
      </Card>
    </Frame>
  );
}
