// The user's menu: time zone, single-key shortcuts and signing out.
import { ActionIcon, Menu, Text } from "@mantine/core";
import { IconLogout, IconUser } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { leave, signOut } from "../accounts/login";
import { messageOf } from "../api/problem";
import { useMe } from "../api/queries";
import { useZone } from "../parts/clock";
import { useSingleKeys } from "../parts/keys";

/** It was asked for before it came, so it opens at once; the focus comes back to its button. */
export default function PersonMenu() {
  const { user, organisation: organization } = useMe();
  const [zone, setZone] = useZone();
  const [keys, setKeys] = useSingleKeys();
  const [isOpen, setOpen] = useState(false);
  const target = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    target.current?.focus();
    setOpen(true);
  }, []);
  const navigate = useNavigate();
  const logout = useMutation({
    mutationFn: signOut,
    onSuccess: () => leave(navigate),
  });
  return (
    <Menu position="bottom-end" withArrow opened={isOpen} onChange={setOpen}>
      <Menu.Target>
        <ActionIcon ref={target} variant="default" aria-label={`${user.email}, ${organization.name}`}>
          <IconUser size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {organization.name}
          <br />
          {user.email} · {user.role}
        </Menu.Label>
        <Menu.Item closeMenuOnClick={false} onClick={() => setZone(zone === "utc" ? "local" : "utc")}>
          Show times in {zone === "utc" ? "local time" : "UTC"}
        </Menu.Item>
        <Menu.Item closeMenuOnClick={false} onClick={() => setKeys(keys === "on" ? "off" : "on")}>
          Turn {keys === "on" ? "off" : "on"} single-key shortcuts
        </Menu.Item>
        <Menu.Divider />
        {/* A menu has nothing but items, so what went wrong is said by the one that was chosen. */}
        <Menu.Item
          leftSection={<IconLogout size={16} />}
          closeMenuOnClick={false}
          onClick={() => logout.mutate()}
          aria-live="polite"
        >
          Sign out
          {logout.isError && (
            <Text size="xs" className="quiet" maw={280}>
              You are still signed in. {messageOf(logout.error)}
            </Text>
          )}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
