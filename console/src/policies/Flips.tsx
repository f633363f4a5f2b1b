// The decisions that would change with another version.
import { Anchor, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Body } from "../api/client";
import { Mark } from "../parts/Mark";
import { counted } from "../parts/numbers";
import { Stacked } from "../parts/Stacked";
import { When } from "../parts/When";

/** A decision that would be another, with what it was and would be. */
type Flip = Body<"PolicyFlip"> & { before?: string; after?: string };

export function Flips({ of, since }: { of: Body<"PolicyFlips">; since: string }) {
  const samples = of.samples as Flip[];
  const number = (count: number) => count.toLocaleString("en");
  if (of.evaluated === 0) {
    return (
      <Text size="sm" className="quiet" data-testid="flips">
        No decisions {since}, so there is nothing to compare.
      </Text>
    );
  }
  return (
    <Stack gap="sm" data-testid="flips">
      <Text size="sm">
        <b>{number(of.changed)}</b> of {counted(of.evaluated, "decision")} {since} would change;{" "}
        <b>{number(of.would_have_denied)}</b> newly denied.
        {of.skipped > 0 && ` ${counted(of.skipped, "event")} could not be compared.`}
      </Text>
      <Group gap="lg">
        {Object.entries(of.by_transition).map(([transition, count]) => {
          const [before = "", after = ""] = transition.split("->");
          return (
            <Group key={transition} gap={6}>
              <Turn before={before} after={after} />
              <Text size="sm" fw={650}>
                {number(count)}
              </Text>
            </Group>
          );
        })}
      </Group>
      {samples.length > 0 && <Samples samples={samples} />}
    </Stack>
  );
}

function Turn({ before, after }: { before: string; after: string }) {
  return (
    <Group gap={4} wrap="nowrap">
      <Mark word={before} />
      <span role="img" aria-label="becomes">
        →
      </span>
      <Mark word={after} />
    </Group>
  );
}

function Samples({ samples }: { samples: Flip[] }) {
  return (
    <Stacked label="Examples, newest first" head={["Change", "Principal", "Action", "Resource", "When"]}>
      {samples.map((flip) => (
        <Table.Tr key={flip.decision_id}>
          <Table.Td data-label="Change">
            <div>
              <Turn before={flip.before ?? ""} after={flip.after ?? ""} />
              {flip.reason && (
                <Text size="xs" className="quiet">
                  {flip.reason}
                </Text>
              )}
            </div>
          </Table.Td>
          <Table.Td data-label="Principal">{flip.principal}</Table.Td>
          <Table.Td data-label="Action" className="mono">
            {flip.action}
          </Table.Td>
          <Table.Td data-label="Resource" className="mono">
            {flip.resource}
          </Table.Td>
          <Table.Td data-label="When">
            <Anchor
              component={Link}
              to="/decisions"
              search={{ decision: flip.decision_id } as never}
              size="sm"
            >
              <When at={flip.at} />
            </Anchor>
          </Table.Td>
        </Table.Tr>
      ))}
    </Stacked>
  );
}
