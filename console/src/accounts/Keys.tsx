// API keys: who created each, when it was last used, and creating, rotating and revoking them.
import { Box, Button, Group, Stack, Switch, Table, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAddress } from "../address";
import type { Body } from "../api/client";
import { queries, useMayManage } from "../api/queries";
import { Answered, Empty } from "../parts/Answered";
import { Id } from "../parts/Copy";
import { useNow } from "../parts/clock";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { Page } from "../parts/Page";
import { ShownOnce } from "../parts/ShownOnce";
import { Stacked } from "../parts/Stacked";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { one } from "../search";
import { RevokeKey, RotateKey } from "./EndKey";
import { type Key, keys, stateOf } from "./keys";
import { NewKey } from "./NewKey";
import { scopesInWords } from "./scopes";

export default function Keys() {
  const [address, change] = useAddress();
  const pages = useInfiniteQuery(keys);
  const all = pages.data?.pages.flatMap((page) => page.data) ?? [];
  const isAll = one(address.show) === "all";
  const make = (
    <ManageButton leftSection={<IconPlus size={16} />} onClick={() => change({ new: "key" })}>
      New key
    </ManageButton>
  );
  return (
    <Page
      title="API keys"
      lead="Credentials for agents and programs. Watchbell stores only a fingerprint, so each key is shown once."
      actions={make}
    >
      <Answered
        query={pages}
        isEmpty={() => all.length === 0}
        empty={
          <Empty title="No keys yet" icon={<IconKey size={26} />} action={make}>
            Agents authenticate with a key when they send events or ask for decisions. Give each agent its own
            key, so you can see when it was last used and revoke it separately.
          </Empty>
        }
      >
        {() => (
          <Box className="surface" p="md">
            <Switch
              mb="sm"
              label="Show expired and revoked keys"
              checked={isAll}
              onChange={(event) => change({ show: event.currentTarget.checked ? "all" : undefined })}
            />
            <KeyTable keys={all} isAll={isAll} />
            {pages.hasNextPage && (
              <Button
                variant="default"
                onClick={() => pages.fetchNextPage()}
                loading={pages.isFetching}
                mt="sm"
              >
                Show older keys
              </Button>
            )}
          </Box>
        )}
      </Answered>
      <Dialogs keys={all} />
    </Page>
  );
}

function KeyTable({ keys, isAll }: { keys: Key[]; isAll: boolean }) {
  const now = useNow();
  const shown = keys.filter((key) => isAll || ["active", "replaced"].includes(stateOf(key, now)));
  if (shown.length === 0) return <Text className="quiet">All keys have expired or been revoked.</Text>;
  return (
    <Stacked label="API keys" head={["Key", "Scopes", "Created", "Last used", "Expires", ""]}>
      {shown.map((key) => (
        <KeyRow key={key.id} of={key} state={stateOf(key, now)} />
      ))}
    </Stacked>
  );
}

const WORDS = { active: "active", replaced: "paused", revoked: "failed", expired: "disabled" };

function KeyRow({ of: key, state }: { of: Key; state: ReturnType<typeof stateOf> }) {
  const [, change] = useAddress();
  const isOver = state === "revoked" || state === "expired";
  return (
    <Table.Tr data-key={key.id} data-key-state={state}>
      <Table.Td data-label="Key">
        <Stack gap={2}>
          <Group gap="xs">
            <Text fw={600} size="sm">
              {key.name}
            </Text>
            {state !== "active" && <Mark word={WORDS[state]}>{state}</Mark>}
          </Group>
          <Id id={key.id}>wb_live_…{key.hint}</Id>
        </Stack>
      </Table.Td>
      <Table.Td data-label="Scopes">
        <Stack gap={4} maw={320}>
          <Group gap={4}>
            {scopesInWords(key.scopes).map((scope) => (
              <Mark key={scope} word="info">
                {scope}
              </Mark>
            ))}
          </Group>
          {key.agents.length > 0 && (
            <Text size="xs" className="quiet" style={{ overflowWrap: "anywhere" }}>
              only as {key.agents.join(", ")}
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td data-label="Created">
        <Stack gap={0}>
          <When at={key.created_at} />
          <Text size="xs" className="quiet" component="span">
            {key.created_by ? <Who id={key.created_by} /> : "by an operator"}
          </Text>
        </Stack>
      </Table.Td>
      <Table.Td data-label="Last used">
        <When at={key.last_used_at} />
      </Table.Td>
      <Table.Td data-label="Expires">
        <When at={key.revoked_at ?? key.expires_at} />
      </Table.Td>
      <Table.Td data-label="">
        {!isOver && (
          <Group gap="xs" wrap="nowrap" justify="flex-end">
            <ManageButton
              size="compact-sm"
              variant="default"
              because={state === "replaced" ? "Already rotated. Rotate its successor instead." : undefined}
              onClick={() => change({ rotate: key.id })}
            >
              Rotate
            </ManageButton>
            <ManageButton size="compact-sm" variant="default" onClick={() => change({ revoke: key.id })}>
              Revoke
            </ManageButton>
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

/** What is asked is in the address; what is shown once is not. */
function Dialogs({ keys }: { keys: Key[] }) {
  const [address, change] = useAddress();
  const [made, setMade] = useState<Body<"MadeKey">>();
  const close = () => change({ new: undefined, rotate: undefined, revoke: undefined });
  const renewed = () => {
    queries.invalidateQueries({ queryKey: ["keys"] });
    queries.invalidateQueries({ queryKey: ["names", "key"] });
    close();
  };
  const onMade = (key: Body<"MadeKey">) => {
    setMade(key);
    renewed();
  };
  const named = (id: string | undefined) => keys.find((key) => key.id === id);
  const mayManage = useMayManage();
  const rotating = named(one(address.rotate));
  const revoking = named(one(address.revoke));
  return (
    <>
      {mayManage && address.new && <NewKey close={close} onMade={onMade} />}
      {mayManage && rotating && <RotateKey old={rotating} close={close} onMade={onMade} />}
      {mayManage && revoking && (
        <RevokeKey
          old={revoking}
          close={close}
          onRevoked={() => {
            notifications.show({ color: "teal", message: `“${revoking.name}” was revoked.` });
            renewed();
          }}
        />
      )}
      {made && (
        <ShownOnce
          title={`API key “${made.name}”`}
          of="API key"
          secret={made.api_key}
          close={() => setMade(undefined)}
        >
          The key works now, on every node. Put it where the agent reads its secrets, such as the environment
          variable WATCHBELL_API_KEY.
        </ShownOnce>
      )}
    </>
  );
}
