// The screens in the side menu and in Ctrl-K.
import {
  IconBell,
  IconCertificate,
  IconChecklist,
  IconDashboard,
  IconDeviceDesktop,
  IconDownload,
  IconGavel,
  IconHistory,
  IconKey,
  IconListSearch,
  IconRocket,
  IconSend,
  IconServerCog,
  IconShieldLock,
  IconUsers,
  IconWorld,
} from "@tabler/icons-react";

interface Place {
  to: string;
  name: string;
  /** What it is for; also found by Ctrl-K. */
  about: string;
  icon: typeof IconBell;
  /** Pressed after `g`, it goes there. */
  key?: string;
  /** Only for operators of the server. */
  operators?: boolean;
}

export const PLACES: { group: string; places: Place[] }[] = [
  {
    group: "Watch",
    places: [
      { to: "/", key: "o", name: "Overview", about: "Key numbers at a glance", icon: IconDashboard },
      {
        to: "/events",
        key: "e",
        name: "Events",
        about: "Search, watch and export the trail",
        icon: IconListSearch,
      },
      {
        to: "/exports",
        key: "x",
        name: "Exports",
        about: "Files exported from the trail",
        icon: IconDownload,
      },
    ],
  },
  {
    group: "Alert",
    places: [
      { to: "/rules", key: "r", name: "Alert rules", about: "Which events trigger alerts", icon: IconBell },
      {
        to: "/deliveries",
        key: "d",
        name: "Deliveries",
        about: "Every webhook and its attempts",
        icon: IconSend,
      },
      {
        to: "/endpoints",
        key: "n",
        name: "Endpoints",
        about: "Health of webhook receivers",
        icon: IconWorld,
      },
      {
        to: "/signing-secrets",
        name: "Signing secrets",
        about: "Secrets that sign webhooks",
        icon: IconCertificate,
      },
    ],
  },
  {
    group: "Guard",
    places: [
      {
        to: "/decisions",
        key: "c",
        name: "Decisions",
        about: "What agents asked, and the answers they got",
        icon: IconGavel,
      },
      {
        to: "/approvals",
        key: "a",
        name: "Approvals",
        about: "Actions waiting for a person",
        icon: IconChecklist,
      },
      {
        to: "/policies",
        key: "p",
        name: "Policies",
        about: "What agents are allowed to do",
        icon: IconShieldLock,
      },
    ],
  },
  {
    group: "Manage",
    places: [
      { to: "/setup", key: "s", name: "Setup", about: "Connect an agent, step by step", icon: IconRocket },
      {
        to: "/keys",
        key: "k",
        name: "API keys",
        about: "Credentials for agents and programs",
        icon: IconKey,
      },
      {
        to: "/members",
        key: "m",
        name: "Members",
        about: "Who belongs to the organization",
        icon: IconUsers,
      },
      { to: "/sessions", name: "Sessions", about: "Where you are signed in", icon: IconDeviceDesktop },
      {
        to: "/security-log",
        name: "Security log",
        about: "Who changed what in the organization",
        icon: IconHistory,
      },
      {
        to: "/system",
        name: "System",
        about: "Health of the server",
        icon: IconServerCog,
        operators: true,
      },
    ],
  },
];
