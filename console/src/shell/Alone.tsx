// The frame of a page that needs no account and has much to show.
import { Anchor, Box, Group } from "@mantine/core";
import { Link, Outlet } from "@tanstack/react-router";
import { Suspense } from "react";
import { Loading } from "../parts/Answered";
import { Logo } from "./Logo";

export default function Alone() {
  return (
    <Box maw={880} mx="auto" p="md" pb="xl">
      <Group component="header" justify="space-between" mb="lg">
        <Logo />
        <Anchor component={Link} to="/" size="sm">
          Open the console
        </Anchor>
      </Group>
      <main>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
    </Box>
  );
}
