// The list of keyboard shortcuts that work on the screen behind it.
import "../styles/rest";
import { Kbd, Modal, Switch, Table, Title } from "@mantine/core";
import { Fragment } from "react";
import { EVERYWHERE, type ShortcutGroup, shortcutGroups, useSingleKeys } from "../parts/keys";

/** Keys by the name that is on them. */
const NAMES: Record<string, string> = { Escape: "Esc", " ": "Space", ArrowDown: "↓", ArrowUp: "↑" };

export default function KeySheet({ onClose }: { onClose: () => void }) {
  const [keys, setKeys] = useSingleKeys();
  return (
    <Modal
      opened
      onClose={onClose}
      title="Keyboard shortcuts"
      closeButtonProps={{ "aria-label": "Close keyboard shortcuts" }}
    >
      <Switch
        label="Single-key shortcuts"
        description={
          keys === "on"
            ? "Turn them off if speech input or stray keys trigger them."
            : "They are off. Ctrl-K, the arrow keys, Enter and Esc still work."
        }
        checked={keys === "on"}
        onChange={(event) => setKeys(event.currentTarget.checked ? "on" : "off")}
      />
      {ordered(shortcutGroups()).map((group) => (
        <Group key={group.name} group={group} />
      ))}
    </Modal>
  );
}

/** Those of the screen first. */
function ordered(groups: ShortcutGroup[]): ShortcutGroup[] {
  return groups.toSorted((a, b) => Number(a.name === EVERYWHERE) - Number(b.name === EVERYWHERE));
}

function Group({ group: { name, shortcuts } }: { group: ShortcutGroup }) {
  return (
    <section>
      <Title order={3} size="h6" mt="sm">
        {name}
      </Title>
      <Table highlightOnHover={false} aria-label={name}>
        <Table.Tbody>
          {shortcuts.map(({ keys, about }) => (
            <Table.Tr key={about}>
              <Table.Td w={120}>
                {keys.map((key) => (
                  <Fragment key={key}>
                    {key === " " ? (
                      <Kbd>Space</Kbd>
                    ) : (
                      key.split(" ").map((one) => <Pressed key={one} name={one} />)
                    )}
                  </Fragment>
                ))}
              </Table.Td>
              <Table.Td>{about}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function Pressed({ name }: { name: string }) {
  return <Kbd mr={4}>{NAMES[name] ?? name}</Kbd>;
}
