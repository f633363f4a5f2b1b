// The chain of an event, folded until somebody asks. The address remembers, so that the next event tells it too.
import { Button, Collapse } from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { lazy, Suspense } from "react";
import { useAddress } from "../address";
import type { AuditEvent } from "../events/row";
import { Loading } from "../parts/Answered";
import { one } from "../search";

/** Most events are only looked at. */
const Chain = lazy(() => import("./Chain"));

export function WhySection({ event }: { event: AuditEvent }) {
  const [address, change] = useAddress();
  const isOpen = one(address.why) === "1";
  return (
    <div>
      <Button
        size="compact-sm"
        variant="subtle"
        aria-expanded={isOpen}
        leftSection={isOpen ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
        onClick={() => change({ why: isOpen ? undefined : "1" }, { replace: true })}
      >
        Why?
      </Button>
      <Collapse expanded={isOpen} pt="xs">
        {isOpen && (
          <Suspense fallback={<Loading lines={3} />}>
            <Chain event={event} />
          </Suspense>
        )}
      </Collapse>
    </div>
  );
}
