// The steps from a saved version to an active one.
import { Anchor, Box, Group, SimpleGrid, Text, ThemeIcon } from "@mantine/core";
import { IconChartBar, IconCheck, IconEye } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Body } from "../api/client";
import { Panel } from "../parts/Page";
import { Steps } from "./Steps";

export function NextSteps({ version, standing }: { version: number; standing: Body<"Policies"> }) {
  const isShadow = standing.shadow?.version === version;
  return (
    <Panel title="Roll out this version">
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
          Past decisions are evaluated again with this version.
        </Step>
        <Step
          icon={<IconEye size={16} />}
          title="2. Shadow: will it be right?"
          action={
            isShadow ? (
              <Anchor component={Link} to="/policies" size="sm">
                View its results
              </Anchor>
            ) : (
              <Steps version={version} standing={standing} steps={["shadow"]} />
            )
          }
        >
          {isShadow
            ? "It is in shadow: it is evaluated for every decision, but its answer is not used."
            : "It is evaluated for every decision, but its answer is not used."}
        </Step>
        <Step
          icon={<IconCheck size={16} />}
          title="3. Activate"
          action={<Steps version={version} standing={standing} steps={["activate"]} />}
        >
          All agents use it within a second. You can roll back.
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
