// The three steps of rotating a signing secret, and the current one.
import { Stepper, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { Body } from "../api/client";
import { Panel } from "../parts/Page";
import { When } from "../parts/When";
import { stepOf } from "./rotation";

const WHERE = [
  "No rotation is in progress. You can stage a secret at any time without breaking anything.",
  "A secret is staged. Add it to every receiver next to the current one, then promote it.",
  "The new secret signs, and the previous one signs alongside it for a while. Remove the previous one from your receivers before it expires.",
];

export function Rotation({ list }: { list: Body<"SecretList"> }) {
  const step = stepOf(list);
  const isWide = useMediaQuery("(min-width: 62em)", true, { getInitialValueInEffect: false });
  const ends = list.data.find(({ state }) => state === "previous")?.ends_at ?? list.initial?.ends_at;
  return (
    <Panel title="Rotate a secret without losing a delivery">
      <Stepper
        active={step}
        size="sm"
        mb="sm"
        orientation={isWide ? "horizontal" : "vertical"}
        data-step={step}
      >
        <Stepper.Step label="Stage" description="Create a new secret, shown once" />
        <Stepper.Step label="Promote" description="Sign with the new secret" />
        <Stepper.Step label="Retire the old secret" description="Automatically, or right away" />
      </Stepper>
      <Text size="sm" component="div">
        <b>You are here:</b> {WHERE[step]}
        {step === 2 && ends && (
          <>
            {" "}
            It expires <When at={ends} />.
          </>
        )}
      </Text>
    </Panel>
  );
}
