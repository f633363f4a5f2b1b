// What can be done with a version. Each step asks for confirmation and shows what would change.
import { Group, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useRef, useState } from "react";
import { answer, api, type Body } from "../api/client";
import { Confirm } from "../parts/Confirm";
import { ManageButton } from "../parts/ManageButton";
import { Backtest } from "./Backtest";
import { Compared } from "./Compared";
import { sayNowActive } from "./nowActive";
import { askAnew } from "./queries";

export type Step = "activate" | "roll-back" | "shadow" | "stop-shadow";

interface StepsProps {
  /** The version that is to be put in a place. */
  version: number;
  standing: Body<"Policies">;
  /** Those to offer; what makes no sense for the version is left out. */
  steps: Step[];
}

export function Steps({ version, standing, steps }: StepsProps) {
  const [asked, setAsked] = useState<Step>();
  /** What was active when somebody said yes; by the time it is done it is another. */
  const before = useRef(standing.active.version);
  const offered = steps.filter((step) => isSensible(step, version, standing));
  return (
    <Group gap="xs">
      {offered.map((step, at) => (
        <ManageButton
          key={step}
          size="xs"
          variant={step === "activate" && at === 0 ? "filled" : "default"}
          onClick={() => setAsked(step)}
        >
          {NAMES[step]}
        </ManageButton>
      ))}
      {asked && (
        <Confirm
          title={titleOf(asked, version)}
          action={NAMES[asked]}
          isMild
          isWide
          act={async () => {
            before.current = standing.active.version;
            await taken(asked, version, before.current);
            await askAnew();
          }}
          done={() => {
            if (asked === "activate" || asked === "roll-back") sayNowActive(version, before.current);
            else notifications.show({ title: `Version ${version}`, message: DONE[asked], color: "teal" });
            setAsked(undefined);
          }}
          close={() => setAsked(undefined)}
        >
          <Effect step={asked} version={version} standing={standing} />
        </Confirm>
      )}
    </Group>
  );
}

const NAMES: Record<Step, string> = {
  activate: "Activate",
  "roll-back": "Roll back",
  shadow: "Put in shadow",
  "stop-shadow": "Take out of shadow",
};

function isSensible(step: Step, version: number, { active, shadow, previous_version }: Body<"Policies">) {
  switch (step) {
    case "activate":
      return version !== active.version;
    case "roll-back":
      return previous_version === version;
    case "shadow":
      return version !== active.version && version !== shadow?.version;
    case "stop-shadow":
      return version === shadow?.version;
  }
}

function titleOf(step: Step, version: number): string {
  switch (step) {
    case "activate":
      return `Activate version ${version}?`;
    case "roll-back":
      return `Roll back to version ${version}?`;
    case "shadow":
      return `Put version ${version} in shadow?`;
    case "stop-shadow":
      return `Take version ${version} out of shadow?`;
  }
}

/** What will happen, in words. */
function aboutOf(step: Step, { active, shadow }: Body<"Policies">): string {
  switch (step) {
    case "activate":
    case "roll-back":
      return `All agents use it instead of version ${active.version} within a second. You can activate version ${active.version} again at any time.`;
    case "shadow":
      return `From now on it is evaluated alongside version ${active.version}, but its answers are not used. Agents are not affected, and the results show where it disagrees.${
        shadow ? ` Version ${shadow.version}, which is in shadow now, is no longer evaluated.` : ""
      }`;
    case "stop-shadow":
      return "It is no longer evaluated, and its report ends. Its answers stay on record with each decision.";
  }
}

interface EffectProps {
  step: Step;
  version: number;
  standing: Body<"Policies">;
}

function Effect({ step, version, standing }: EffectProps) {
  const active = standing.active.version;
  return (
    <Stack gap="md">
      <Text size="sm">{aboutOf(step, standing)}</Text>
      {step !== "stop-shadow" && (
        <>
          <section>
            <Title order={3} size="h6" mb={6}>
              Changes from version {active}
            </Title>
            <Compared before={active} after={version} />
          </section>
          <section>
            <Title order={3} size="h6" mb={6}>
              Decisions that would change
            </Title>
            <Backtest version={version} />
          </section>
        </>
      )}
    </Stack>
  );
}

const DONE = {
  shadow: "Now in shadow.",
  "stop-shadow": "No longer in shadow.",
};

/** What is believed to be active goes along: if somebody was quicker, nothing is changed. */
function taken(step: Step, version: number, expect_active: number): Promise<unknown> {
  const params = { path: { version } };
  const body = { expect_active };
  switch (step) {
    case "activate":
      return answer(api.POST("/v1/policies/versions/{version}/activate", { params, body }));
    case "roll-back":
      return answer(api.POST("/v1/policies/rollback", { body }));
    case "shadow":
      return answer(api.POST("/v1/policies/versions/{version}/shadow", { params }));
    case "stop-shadow":
      return answer(api.DELETE("/v1/policies/shadow"));
  }
}
