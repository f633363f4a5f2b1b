// The frame around every screen for signed-in users: menu, search and user menu.
import {
  ActionIcon,
  AppShell,
  Box,
  Burger,
  Button,
  Group,
  Kbd,
  NavLink,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { IconKeyboard, IconMoon, IconSearch, IconSun, IconUser } from "@tabler/icons-react";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { Fragment, lazy, Suspense, useState } from "react";
import { DeletionBanner } from "../accounts/DeletionBanner";
import { useMe } from "../api/queries";
import { WaitingCount } from "../decisions/WaitingCount";
import { Loading } from "../parts/Answered";
import { EVERYWHERE, useShortcuts, useSingleKeys } from "../parts/keys";
import { useOpenView, ViewLinks } from "../views/ViewLinks";
import { Logo } from "./Logo";
import { PLACES } from "./places";

const Found = lazy(() => import("./Finder"));
const KeySheet = lazy(() => import("./KeySheet"));
const PersonMenu = lazy(() => import("./PersonMenu"));

export default function Shell() {
  const [open, { toggle, close }] = useDisclosure(false);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 216, breakpoint: "sm", collapsed: { mobile: !open } }}
      padding="md"
    >
      <a href="#main" className="skip-link">
        Skip to content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger
              opened={open}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Menu"
              aria-expanded={open}
            />
            <Logo />
            <OrganizationName />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Finder />
            <Keys />
            <SchemeSwitch />
            <Person />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Main">
        {/* A menu that is away takes no keys. */}
        <Box onClick={close} style={{ overflowY: "auto" }} visibleFrom={open ? undefined : "sm"}>
          <Places />
        </Box>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <DeletionBanner />
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </AppShell.Main>
    </AppShell>
  );
}

/** Whose data this is; on a phone the user menu says it. */
function OrganizationName() {
  const { organisation: organization } = useMe();
  return (
    <Text size="sm" className="quiet truncate" maw={320} visibleFrom="sm" title={organization.name}>
      {organization.name}
    </Text>
  );
}

function Places() {
  const { pathname } = useLocation();
  const { operator } = useMe().user;
  // A view that is open has a line of its own.
  const isOfView = useOpenView() !== undefined;
  const isHere = (to: string) =>
    to === "/" ? pathname === "/" : (pathname === to && !isOfView) || pathname.startsWith(`${to}/`);
  return PLACES.map(({ group, places }) => (
    <div key={group}>
      <Text size="xs" fw={600} className="quiet" px="sm" pt="sm" pb={4}>
        {group}
      </Text>
      {places
        .filter((place) => operator || !place.operators)
        .map((place) => (
          <Fragment key={place.to}>
            <NavLink
              component={Link}
              to={place.to}
              // With a search, the router would take this link for the page beside that of the view.
              activeOptions={{ exact: true }}
              label={place.name}
              active={isHere(place.to)}
              aria-current={isHere(place.to) ? "page" : undefined}
              leftSection={<place.icon size={18} stroke={1.6} aria-hidden />}
              rightSection={place.to === "/approvals" && <WaitingCount />}
              py={6}
            />
            <ViewLinks at={place.to} />
          </Fragment>
        ))}
    </div>
  ));
}

/** Ctrl-K: go anywhere. What finds comes when it is first asked for. */
function Finder() {
  const [isAsked, setAsked] = useState(false);
  const open = () => {
    if (!isAsked) setAsked(true);
    else import("./Finder").then((finder) => finder.open());
  };
  useHotkeys([["mod + K", open]], []);
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<IconSearch size={14} />}
        onClick={open}
        visibleFrom="sm"
        rightSection={<Kbd size="xs">Ctrl K</Kbd>}
      >
        Go to…
      </Button>
      <ActionIcon variant="default" onClick={open} hiddenFrom="sm" aria-label="Go to…">
        <IconSearch size={16} />
      </ActionIcon>
      <Suspense>{isAsked && <Found />}</Suspense>
    </>
  );
}

/** The keys that work on every screen, and the list of those that work on this one. */
function Keys() {
  const [isOpen, sheet] = useDisclosure(false);
  const [singleKeys] = useSingleKeys();
  const navigate = useNavigate();
  const places = PLACES.flatMap((group) => group.places).filter(({ key }) => key !== undefined);
  useShortcuts(EVERYWHERE, [
    { keys: ["?"], about: "Show this list", run: sheet.open },
    { keys: ["Ctrl-K"], about: "Search pages, names and actions" },
    ...places.map(({ key, name, to }) => ({
      keys: [`g ${key}`],
      about: `Go to ${name}`,
      run: () => void navigate({ to }),
    })),
  ]);
  return (
    <>
      <ActionIcon
        variant="default"
        onClick={sheet.open}
        visibleFrom="sm"
        aria-label="Keyboard shortcuts"
        title={singleKeys === "on" ? "Keyboard shortcuts (?)" : "Keyboard shortcuts"}
      >
        <IconKeyboard size={16} />
      </ActionIcon>
      <Suspense>{isOpen && <KeySheet onClose={sheet.close} />}</Suspense>
    </>
  );
}

function SchemeSwitch() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  const other = scheme === "dark" ? "light" : "dark";
  return (
    <ActionIcon
      variant="default"
      onClick={() => setColorScheme(other)}
      aria-label={`Use ${other} theme`}
      title={`Use ${other} theme`}
    >
      {scheme === "dark" ? <IconSun size={16} /> : <IconMoon size={16} />}
    </ActionIcon>
  );
}

/** Who is logged in. The menu behind it comes when it is first opened. */
function Person() {
  const { user, organisation: organization } = useMe();
  const [isAsked, setAsked] = useState(false);
  const button = (
    <ActionIcon
      variant="default"
      aria-label={`${user.email}, ${organization.name}`}
      aria-haspopup="menu"
      onClick={() => setAsked(true)}
    >
      <IconUser size={16} />
    </ActionIcon>
  );
  return isAsked ? (
    <Suspense fallback={button}>
      <PersonMenu />
    </Suspense>
  ) : (
    button
  );
}
