// A panel beside a list that stays usable; on a narrow screen it covers the list.
import { CloseButton, Drawer, Group, Title } from "@mantine/core";
import { useMediaQuery, useWindowEvent } from "@mantine/hooks";
import { type ReactNode, useEffect, useId, useRef } from "react";
import classes from "./Side.module.css";

interface SideProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

export function Side(props: SideProps) {
  const isNarrow = useMediaQuery("(max-width: 62em)", false, { getInitialValueInEffect: false });
  if (!isNarrow) return <Beside {...props} />;
  return (
    <Drawer opened onClose={props.onClose} title={props.title} size="100%">
      {props.children}
    </Drawer>
  );
}

function Beside({ title, onClose, children }: SideProps) {
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    // Who walks through a list goes on there; everybody else is led to what has opened, and back.
    if (before?.closest("[role=listbox]")) return;
    heading.current?.focus({ preventScroll: true });
    return () => {
      const isNowhere = document.activeElement === document.body;
      if (isNowhere && before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);
  // A dialog above it closes with the same key, and may be gone before the key comes here.
  const wasCovered = useRef(false);
  const look = () => {
    wasCovered.current = document.querySelector("[aria-modal=true]") !== null;
  };
  useWindowEvent("keydown", look, { capture: true });
  useWindowEvent("keydown", (event) => {
    // Menus and dialogs take the key for themselves.
    const isTaken =
      event.defaultPrevented ||
      (event.target instanceof Element && event.target.closest("[data-mantine-stop-propagation=true]"));
    if (event.key === "Escape" && !isTaken && !wasCovered.current) onClose();
  });
  return (
    <section className={classes.side} role="dialog" aria-labelledby={id} data-beside>
      <Group justify="space-between" mb="sm">
        <Title ref={heading} id={id} order={2} size="h5" tabIndex={-1} style={{ outline: "none" }}>
          {title}
        </Title>
        <CloseButton aria-label="Close" onClick={onClose} />
      </Group>
      {children}
    </section>
  );
}
