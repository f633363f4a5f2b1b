// The page for an unknown address.
import { Text } from "@mantine/core";
import { Card, Frame } from "./Outside";

export default function Lost() {
  return (
    <Frame>
      <Card title="Page not found" links={{ "Go to the overview": "/" }}>
        <Text size="sm">Check the address. The item it points to may have been deleted.</Text>
      </Card>
    </Frame>
  );
}
