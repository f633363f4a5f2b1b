// The three steps from one signing secret to the next, and where you are.
import { Stepper, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { Body } from "../api/client";
import { Panel } from "../parts/Page";
import { When } from "../parts/When";
import { stepOf } from "./rotation";

const WHERE = [
  "Nothing is under way. Begin by staging a secret whenever you like; nothing breaks by it.",
  "A secret is staged. Give it to every receiver beside the one that they have, then promote it.",
  "The new secret signs, and the one before signs beside it for a while. Take that from your receivers before it ends.",
];

export function Rotation({ list }: { list: Body<"SecretList"> }) {
  const step = stepOf(list);
  const isWide = useMediaQuery("(min-width: 62em)", true, { getInitialValueInEffect: false });
  const ends = list.data.find(({ state }) => state === "previous")?.ends_at ?? list.initial?.ends_at;
  return (
    <Panel title="Change a secret without losing a delivery">
      <Stepper
        active={step}
        size="sm"
        mb="sm"
        orientation={isWide ? "horizontal" : "vertical"}
        data-step={step}
      >
        <Stepper.Step label="Stage" description="A new one is made, and shown once" />
        <Stepper.Step label="Promote" description="It signs from then on" />
        <Stepper.Step label="Let the old one end" description="By itself, or at once" />
      </Stepper>
      <Text size="sm" component="div">
        <b>You are here:</b> {WHERE[step]}
        {step === 2 && ends && (
          <>
            {" "}
            It ends <When at={ends} />.
          </>
        )}
      </Text>
    </Panel>
  );
}
