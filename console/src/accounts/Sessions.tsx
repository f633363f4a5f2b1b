// Where the user is signed in, with a way to sign out of each session.
import { Box, Button, Group, Stack, Table, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Answered } from "../parts/Answered";
import { Confirm } from "../parts/Confirm";
import { Mark } from "../parts/Mark";
import { Page } from "../parts/Page";
import { Stacked } from "../parts/Stacked";
import { When } from "../parts/When";
import { one } from "../search";
import { ChangePassword } from "./ChangePassword";
import { deviceOf } from "./devices";
import { leave } from "./login";

type Session = Body<"SessionBody">;

export default function Sessions() {
  const sessions = useQuery({
    queryKey: ["sessions"],
    queryFn: () => answer(api.GET("/v1/auth/sessions")),
  });
  return (
    <Page
      title="Sessions"
      lead="Where you are signed in. Don't recognize a session? Change your password, which signs out all other sessions."
    >
      <Answered query={sessions}>
        {({ data }) => (
          <Box className="surface" p="md">
            <Stacked label="Sessions" head={["Where", "Last seen", "Signed in", "Expires", ""]}>
              {data.map((session) => (
                <SessionRow key={session.id} {...session} />
              ))}
            </Stacked>
          </Box>
        )}
      </Answered>
      <ChangePassword />
      <EndSession sessions={sessions.data?.data ?? []} />
    </Page>
  );
}

function SessionRow(session: Session) {
  const [, change] = useAddress();
  return (
    <Table.Tr data-current={session.current}>
      <Table.Td data-label="Where">
        <Stack gap={2}>
          <Group gap="xs">
            <Text size="sm" fw={600}>
              {deviceOf(session.user_agent)}
            </Text>
            {session.current && <Mark word="active">this session</Mark>}
          </Group>
          <Text size="xs" className="quiet mono">
            {session.client_address ?? "unknown address"}
          </Text>
        </Stack>
      </Table.Td>
      <Table.Td data-label="Last seen">
        <When at={session.last_seen_at} />
      </Table.Td>
      <Table.Td data-label="Signed in">
        <When at={session.created_at} />
      </Table.Td>
      <Table.Td data-label="Expires">
        <When at={session.expires_at} />
      </Table.Td>
      <Table.Td data-label="" ta="right">
        <Button size="compact-sm" variant="default" onClick={() => change({ end: session.id })}>
          Sign out
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}

function EndSession({ sessions }: { sessions: Session[] }) {
  const [address, change] = useAddress();
  const navigate = useNavigate();
  const close = () => change({ end: undefined });
  const ending = sessions.find(({ id }) => id === one(address.end));
  if (ending === undefined) return null;
  const device = deviceOf(ending.user_agent);
  return (
    <Confirm
      title={ending.current ? "Sign out here?" : `Sign out ${device}?`}
      action="Sign out"
      act={() => answer(api.DELETE("/v1/auth/sessions/{id}", { params: { path: { id: ending.id } } }))}
      done={() => {
        if (ending.current) return void leave(navigate);
        notifications.show({ color: "teal", message: `${device} was signed out.` });
        queries.invalidateQueries({ queryKey: ["sessions"] });
        close();
      }}
      close={close}
    >
      <Text size="sm">
        Anyone using {device} from {ending.client_address ?? "there"} will have to sign in again.
      </Text>
    </Confirm>
  );
}
