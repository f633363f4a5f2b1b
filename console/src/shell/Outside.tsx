// The frame of the signed-out pages: one card in the middle.
import { Anchor, Box, Center, Stack, Title } from "@mantine/core";
import { Link, Outlet } from "@tanstack/react-router";
import { type ReactNode, Suspense, useEffect } from "react";
import { Loading } from "../parts/Answered";
import { nameWindow } from "../parts/windowTitle";
import { Logo } from "./Logo";

export default function Outside() {
  return (
    <Frame>
      <Outlet />
    </Frame>
  );
}

export function Frame({ children }: { children: ReactNode }) {
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack w="100%" maw={420}>
        <Center>
          <Logo />
        </Center>
        <Suspense fallback={<Loading lines={3} />}>{children}</Suspense>
      </Stack>
    </Center>
  );
}

/** A card with one thing to do, and where else to go. */
export function Card({
  title,
  children,
  links,
}: {
  title: string;
  children: ReactNode;
  links?: Record<string, string>;
}) {
  useEffect(() => nameWindow(title), [title]);
  return (
    <>
      <Box className="surface" p="lg">
        <Title order={1} size="h3" mb="md">
          {title}
        </Title>
        {children}
      </Box>
      <Center>
        <Stack gap={4} align="center">
          {Object.entries(links ?? {}).map(([name, to]) => (
            <Anchor key={to} component={Link} to={to} size="sm">
              {name}
            </Anchor>
          ))}
        </Stack>
      </Center>
    </>
  );
}
