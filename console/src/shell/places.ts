// Where one can go: the menu at the side, and what Ctrl-K finds.
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
  /** Only for operators of the server. */
  operators?: boolean;
}

export const PLACES: { group: string; places: Place[] }[] = [
  {
    group: "Watch",
    places: [
      { to: "/", name: "Overview", about: "The numbers that matter", icon: IconDashboard },
      { to: "/events", name: "Events", about: "Search, watch and export the trail", icon: IconListSearch },
      { to: "/exports", name: "Exports", about: "Files made of the trail", icon: IconDownload },
    ],
  },
  {
    group: "Alert",
    places: [
      { to: "/rules", name: "Alert rules", about: "Which events ring the bell", icon: IconBell },
      { to: "/deliveries", name: "Deliveries", about: "Every webhook and its attempts", icon: IconSend },
      { to: "/endpoints", name: "Endpoints", about: "How receivers are doing", icon: IconWorld },
      {
        to: "/signing-secrets",
        name: "Signing secrets",
        about: "What webhooks are signed with",
        icon: IconCertificate,
      },
    ],
  },
  {
    group: "Guard",
    places: [
      {
        to: "/decisions",
        name: "Decisions",
        about: "What agents asked, and what they were told",
        icon: IconGavel,
      },
      { to: "/approvals", name: "Approvals", about: "What waits for a person", icon: IconChecklist },
      { to: "/policies", name: "Policies", about: "What agents may do", icon: IconShieldLock },
    ],
  },
  {
    group: "Manage",
    places: [
      { to: "/setup", name: "Setup", about: "Connect an agent, step by step", icon: IconRocket },
      { to: "/keys", name: "API keys", about: "What agents sign in with", icon: IconKey },
      { to: "/members", name: "Members", about: "Who belongs to the organisation", icon: IconUsers },
      { to: "/sessions", name: "Sessions", about: "Where you are signed in", icon: IconDeviceDesktop },
      {
        to: "/security-log",
        name: "Security log",
        about: "Who did what to the organisation",
        icon: IconHistory,
      },
      {
        to: "/system",
        name: "System",
        about: "How the server is doing",
        icon: IconServerCog,
        operators: true,
      },
    ],
  },
];
