// The page for an unknown address.
import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Page } from "../parts/Page";

export default function Lost() {
  return (
    <Page title="Page not found">
      <Text size="sm">Check the address. The item it points to may have been deleted.</Text>
      <Anchor component={Link} to="/" size="sm">
        Go to the overview
      </Anchor>
    </Page>
  );
}
