// The user's menu: time zone and signing out.
import { ActionIcon, Box, Menu, Text } from "@mantine/core";
import { IconLogout, IconUser } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { leave, signOut } from "../accounts/login";
import { useMe } from "../api/queries";
import { Trouble } from "../parts/Answered";
import { useZone } from "../parts/clock";

/** It was asked for before it came, so it opens at once; the focus comes back to its button. */
export default function PersonMenu() {
  const { user, organisation: organization } = useMe();
  const [zone, setZone] = useZone();
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
        <Menu.Divider />
        {logout.isError && (
          <Box maw={280}>
            <Text size="sm">You are still signed in.</Text>
            <Trouble error={logout.error} />
          </Box>
        )}
        <Menu.Item
          leftSection={<IconLogout size={16} />}
          closeMenuOnClick={false}
          onClick={() => logout.mutate()}
        >
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
