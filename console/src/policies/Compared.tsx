// A diff of two policy versions.
import { Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Answered } from "../parts/Answered";
import { Diff } from "../parts/Diff";
import { version as versionQuery } from "./queries";

export function Compared({ before, after }: { before: number; after: number }) {
  const old = useQuery(versionQuery(before));
  const now = useQuery(versionQuery(after));
  if (before === after) {
    return (
      <Text size="sm" className="quiet">
        This is the same version.
      </Text>
    );
  }
  return (
    <Answered query={old}>
      {(was) => (
        <Answered query={now}>
          {(is) => {
            const name = `version ${before} and version ${after}`;
            const hasSchema = (was.schema ?? "") !== (is.schema ?? "");
            return (
              <Stack gap="sm">
                <Diff label={`Policies of ${name}`} before={was.policies} after={is.policies} />
                {hasSchema && (
                  <>
                    <Title order={4} size="h6">
                      Schema
                    </Title>
                    <Diff label={`Schema of ${name}`} before={was.schema ?? ""} after={is.schema ?? ""} />
                  </>
                )}
              </Stack>
            );
          }}
        </Answered>
      )}
    </Answered>
  );
}
