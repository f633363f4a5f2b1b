// Every webhook and its state.
import { Button, Group, Tabs, Text } from "@mantine/core";
import { IconRefresh } from "@tabler/icons-react";
import { useAddress } from "../address";
import { Page } from "../parts/Page";
import { TimeRange } from "../parts/TimeRange";
import { all, one } from "../search";
import { ViewActions } from "../views/ViewActions";
import { DeliveryList } from "./DeliveryList";
import { Filters } from "./Filters";
import { KEPT } from "./filter";
import { ResendMany } from "./ResendMany";
import { STATE_WORDS, USUAL, VIEWS, viewOf } from "./states";

export default function Deliveries() {
  const [search, change] = useAddress();
  const states = all(search.state);
  const view = VIEWS.find(({ id }) => id === viewOf(states));
  const range = { last: one(search.last), from: one(search.from), to: one(search.to) };
  return (
    <Page
      title="Deliveries"
      lead="Every webhook, its state and its next retry."
      actions={
        <Group gap="xs">
          <TimeRange
            range={range}
            usual={USUAL}
            onChange={({ last, from, to }) => change({ last, from, to })}
          />
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} />}
            onClick={() => change({ panel: "resend" })}
          >
            Resend in bulk…
          </Button>
          <ViewActions list="deliveries" parameters={KEPT} />
        </Group>
      }
    >
      <div>
        <Tabs
          value={view?.id ?? ""}
          onChange={(id) => change({ state: VIEWS.find((one) => one.id === id)?.states })}
        >
          <Tabs.List>
            {VIEWS.map(({ id, name }) => (
              <Tabs.Tab key={id} value={id}>
                {name}
              </Tabs.Tab>
            ))}
          </Tabs.List>
        </Tabs>
        <Text size="xs" className="quiet" mt={6}>
          {view?.about ??
            `Deliveries that are ${states.map((state) => STATE_WORDS[state] ?? state).join(" or ")}.`}
        </Text>
      </div>
      <Filters />
      <DeliveryList />
      <ResendMany
        isOpen={one(search.panel) === "resend"}
        onClose={() => change({ panel: undefined }, { replace: true })}
      />
    </Page>
  );
}
