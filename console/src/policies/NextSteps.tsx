// From a version that is written to one that answers agents, step by step.
import { Anchor, Box, Group, SimpleGrid, Text, ThemeIcon } from "@mantine/core";
import { IconChartBar, IconCheck, IconEye } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Body } from "../api/client";
import { Panel } from "../parts/Page";
import { Steps } from "./Steps";

export function NextSteps({ version, standing }: { version: number; standing: Body<"Policies"> }) {
  const isWatched = standing.shadow?.version === version;
  return (
    <Panel title="Bring it into force">
      <SimpleGrid cols={{ base: 1, md: 3 }}>
        <Step
          icon={<IconChartBar size={16} />}
          title="1. Backtest: would it have been right?"
          action={
            <Anchor component={Link} to="." search={{ tab: "backtest" } as never} size="sm" replace>
              See what would have changed
            </Anchor>
          }
        >
          Decisions of the past are made again with it.
        </Step>
        <Step
          icon={<IconEye size={16} />}
          title="2. Shadow: will it be right?"
          action={
            isWatched ? (
              <Anchor component={Link} to="/policies" size="sm">
                See what it says
              </Anchor>
            ) : (
              <Steps version={version} standing={standing} steps={["shadow"]} />
            )
          }
        >
          {isWatched
            ? "It is in shadow: asked with the active version for every decision, and not obeyed."
            : "It is asked with the active version for every decision, and not obeyed."}
        </Step>
        <Step
          icon={<IconCheck size={16} />}
          title="3. Activate"
          action={<Steps version={version} standing={standing} steps={["activate"]} />}
        >
          Every agent is answered by it within a second. You can roll back.
        </Step>
      </SimpleGrid>
    </Panel>
  );
}

interface StepProps {
  icon: ReactNode;
  title: string;
  action: ReactNode;
  children: ReactNode;
}

function Step({ icon, title, action, children }: StepProps) {
  return (
    <Group gap="sm" align="flex-start" wrap="nowrap">
      <ThemeIcon variant="light" radius="xl" aria-hidden>
        {icon}
      </ThemeIcon>
      <Box miw={0}>
        <Text size="sm" fw={600}>
          {title}
        </Text>
        <Text size="sm" className="quiet">
          {children}
        </Text>
        <Group mt={4}>{action}</Group>
      </Box>
    </Group>
  );
}
