// A rule's history: its versions, who created them, what differs, and rolling back.
import { Box, Button, Group, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { Answered } from "../parts/Answered";
import { Confirm } from "../parts/Confirm";
import { Diff } from "../parts/Diff";
import { Mark } from "../parts/Mark";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { one } from "../search";
import { draftOf, print } from "./draft";

type Version = Body<"RuleVersion">;

interface HistoryProps {
  id: string;
  current: number;
  isBusy: boolean;
  onRollBack: (definition: Body<"RuleDefinition">) => void;
}

export function History({ id, current, isBusy, onRollBack }: HistoryProps) {
  const versions = useQuery({
    queryKey: ["rule-versions", id],
    queryFn: () =>
      answer(api.GET("/v1/alert-rules/{id}/versions", { params: { path: { id }, query: { limit: 100 } } })),
  });
  const [back, setBack] = useState<Version>();
  return (
    <Answered query={versions}>
      {({ data }) => (
        <Stack gap="sm">
          <Compare versions={data} />
          {data.map((version) => (
            <Box key={version.version} className="surface" p="xs">
              <Group justify="space-between" gap="xs">
                <Group gap="xs">
                  <Text size="sm" fw={600}>
                    Version {version.version}
                  </Text>
                  <Mark word={version.what === "disabled" ? "disabled" : "info"}>{version.what}</Mark>
                  {version.version === current && <Mark word="active">current</Mark>}
                </Group>
                {version.version !== current && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    disabled={isBusy}
                    onClick={() => setBack(version)}
                  >
                    Roll back to this
                  </Button>
                )}
              </Group>
              <Text size="xs" className="quiet">
                <When at={version.made_at} /> by <Who id={version.made_by} />
                {version.changed.length > 0 && `; changed ${version.changed.join(", ")}`}
              </Text>
            </Box>
          ))}
          {back && (
            <Confirm
              title={`Roll back to version ${back.version}?`}
              action="Roll back"
              isMild
              act={async () => onRollBack(back.definition)}
              done={() => setBack(undefined)}
              close={() => setBack(undefined)}
            >
              <Text size="sm">
                This restores that version as a new version, effective from the next event. The history is
                kept. Unsaved changes are lost.
              </Text>
            </Confirm>
          )}
        </Stack>
      )}
    </Answered>
  );
}

/** Two versions, line by line; the newest and the one before unless others are chosen. */
function Compare({ versions }: { versions: Version[] }) {
  const [search, change] = useAddress();
  if (versions.length < 2) {
    return (
      <Text size="sm" className="quiet">
        Each save creates a version here that you can compare and restore.
      </Text>
    );
  }
  const find = (name: string, usual: Version | undefined) =>
    versions.find((version) => String(version.version) === one(search[name])) ?? usual;
  const after = find("after", versions[0]);
  const before = find("before", versions[1]);
  const choose = (name: string) => (value: string | null) =>
    change({ [name]: value ?? undefined }, { replace: true });
  const choices = versions.map((version) => ({
    value: String(version.version),
    label: `Version ${version.version}`,
  }));
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Text size="sm">From</Text>
        <Select
          size="xs"
          w={120}
          aria-label="Earlier version"
          data={choices}
          value={String(before?.version)}
          allowDeselect={false}
          onChange={choose("before")}
        />
        <Text size="sm">to</Text>
        <Select
          size="xs"
          w={120}
          aria-label="Later version"
          data={choices}
          value={String(after?.version)}
          allowDeselect={false}
          onChange={choose("after")}
        />
      </Group>
      {before && after && (
        <Diff
          label={`Version ${before.version} and version ${after.version}`}
          before={print(draftOf(before.definition))}
          after={print(draftOf(after.definition))}
        />
      )}
    </Stack>
  );
}
