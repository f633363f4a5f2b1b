// Resolves a conflict when someone else changed the rule: what differs, and whose version to keep.
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { answer, api, type Body } from "../api/client";
import { Answered } from "../parts/Answered";
import { Diff } from "../parts/Diff";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { type Draft, draftOf, print } from "./draft";

interface ConflictProps {
  id: string;
  mine: Draft;
  onTake: (theirs: Body<"Rule">) => void;
  onOverwrite: (version: number) => void;
  onKeep: () => void;
}

export function Conflict({ id, mine, onTake, onOverwrite, onKeep }: ConflictProps) {
  const theirs = useQuery({
    queryKey: ["rule-theirs", id],
    queryFn: () => answer(api.GET("/v1/alert-rules/{id}", { params: { path: { id } } })),
    staleTime: 0,
    gcTime: 0,
  });
  return (
    <Alert color="yellow" title="Someone else changed this rule" data-state="conflict">
      <Answered query={theirs}>
        {(rule) => (
          <Stack gap="sm">
            <Text size="sm">
              <Who id={rule.updated_by} /> saved version {rule.version} <When at={rule.updated_at} />. Your
              changes are not saved yet, and nothing is lost. Lines with − are theirs, lines with + are yours.
            </Text>
            <Diff label="Theirs and yours" before={print(draftOf(rule))} after={print(draftOf(mine))} />
            <Group gap="xs">
              <Button size="xs" variant="default" onClick={() => onTake(rule)}>
                Use theirs
              </Button>
              <Button size="xs" variant="default" onClick={() => onOverwrite(rule.version)}>
                Overwrite with mine
              </Button>
              <Button size="xs" variant="subtle" onClick={onKeep}>
                Keep editing
              </Button>
            </Group>
          </Stack>
        )}
      </Answered>
    </Alert>
  );
}
