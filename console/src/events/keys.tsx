// Keyboard shortcuts of the Events page, and the list of them.
import { Kbd, Modal, Table } from "@mantine/core";
import { useEffect, useRef } from "react";

/** What each key does; a key that nothing is done with is left alone. */
export type Keys = Record<string, (() => void) | undefined>;

const TYPED_INTO =
  "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], [role=dialog], [role=menu]";
/** What takes Space for itself. */
const PRESSED = "button, a, input, [role=button]";

/** Hears keys wherever the focus is, but where somebody types or a dialog is open. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const isIn = (what: string) => event.target instanceof Element && event.target.closest(what) !== null;
      if (isIn(TYPED_INTO) || (event.key === " " && isIn(PRESSED))) return;
      // A menu closes with Escape, also where its button still has the focus.
      if (event.key === "Escape" && document.querySelector("[role=menu]") !== null) return;
      const action = latest.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

const SHEET: [string[], string][] = [
  [["j", "↓"], "Next event"],
  [["k", "↑"], "Previous event"],
  [["Enter"], "Open event"],
  [["Esc"], "Close event"],
  [["/"], "Search"],
  [["l"], "Turn live tail on or off"],
  [["Space"], "Pause or resume live tail"],
  [["?"], "Show this list"],
];

export function KeySheet({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Keyboard shortcuts"
      closeButtonProps={{ "aria-label": "Close keyboard shortcuts" }}
    >
      <Table highlightOnHover={false}>
        <Table.Tbody>
          {SHEET.map(([keys, what]) => (
            <Table.Tr key={what}>
              <Table.Td w={120}>
                {keys.map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
              <Table.Td>{what}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
