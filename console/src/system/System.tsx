// The health of the deployment, for operators. Refreshes automatically.
import { Alert, Box, Code, Group, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconLock } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { Problem } from "../api/problem";
import { useMe } from "../api/queries";
import { Answered, Empty } from "../parts/Answered";
import { Snippet } from "../parts/Copy";
import { Facts } from "../parts/Facts";
import { Page, Panel } from "../parts/Page";
import { When } from "../parts/When";
import { Days } from "./Days";
import { DeadLetters } from "./DeadLetters";
import { Dependencies } from "./Dependencies";
import { Logs } from "./Logs";

const AGAIN_MS = 5_000;

export default function System() {
  const system = useQuery({
    queryKey: ["system"],
    queryFn: () => answer(api.GET("/v1/system")),
    refetchInterval: ({ state }) => (isForbidden(state.error) ? false : AGAIN_MS),
  });
  return (
    <Page title="System" lead="Health of this deployment, as seen by this node. Refreshes every 5 seconds.">
      {isForbidden(system.error) ? (
        <NotForYou />
      ) : (
        <Answered query={system}>{(now) => <State {...now} />}</Answered>
      )}
    </Page>
  );
}

function isForbidden(error: unknown): boolean {
  return error instanceof Problem && error.status === 403;
}

function NotForYou() {
  const { email } = useMe().user;
  return (
    <Empty title="Only operators can view this page" icon={<IconLock size={26} />}>
      <Stack align="center">
        <Text>
          Operators are listed in the server's settings. Whoever runs the server can add your address and
          restart it:
        </Text>
        <Box ta="left">
          <Snippet code={`[accounts]\noperators = ["${email}"]`} of="setting" />
        </Box>
      </Stack>
    </Empty>
  );
}

function State(system: Body<"SystemBody">) {
  const { version, started_at, roles, pending_migrations } = system;
  return (
    <>
      {pending_migrations > 0 && (
        <Alert color="yellow" title="The database schema is older than this binary">
          <Text size="sm">
            {pending_migrations === 1 ? "One migration is" : `${pending_migrations} migrations are`} pending.
            Run <Code>watchbell migrate --config watchbell.toml</Code>.
          </Text>
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Panel title="Node">
          <Facts
            of={{
              Version: <span className="mono">{version}</span>,
              Started: <When at={started_at} />,
              Roles: (
                <Group gap={6}>
                  {roles.map((role) => (
                    <Code key={role}>{role}</Code>
                  ))}
                </Group>
              ),
              Migrations: pending_migrations === 0 ? "all applied" : `${pending_migrations} pending`,
            }}
          />
        </Panel>
        <Dependencies all={system.dependencies} />
        <Logs all={system.logs} />
        <DeadLetters letters={system.dead_letters} />
      </SimpleGrid>
      <Days all={system.days} />
    </>
  );
}
