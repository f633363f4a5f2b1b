// All routes. Each screen is loaded when it is first visited.
import { Box } from "@mantine/core";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { endAnswers } from "./accounts/login";
import { Problem } from "./api/problem";
import { me, queries } from "./api/queries";
import { whenSessionEnds } from "./api/session";
import { Trouble } from "./parts/Answered";
import { Page } from "./parts/Page";
import { parseSearch, type Search, stringifySearch } from "./search";
import Root from "./shell/Root";
import Shell from "./shell/Shell";

const root = createRootRoute({ component: Root });

/** The server saw no session with the page it served: nobody is signed in, and to ask who is would be refused. */
function isKnownToBeNobody(): boolean {
  const isFirst = router.state.resolvedLocation === undefined;
  return isFirst && document.querySelector<HTMLMetaElement>('meta[name="session"]')?.content === "none";
}

/** What only who is logged in may see; others are asked to, and come back. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  beforeLoad: async ({ location }) => {
    const signIn = redirect({ to: "/sign-in", search: { next: location.href } });
    if (isKnownToBeNobody()) throw signIn;
    try {
      await queries.ensureQueryData(me);
    } catch (error) {
      throw error instanceof Problem && error.isUnauthenticated ? signIn : error;
    }
  },
  errorComponent: ({ error }) => (
    <Box component="main" p="md">
      <Broken error={error} />
    </Box>
  ),
});

const outside = createRoute({
  getParentRoute: () => root,
  id: "outside",
  component: lazyRouteComponent(() => import("./shell/Outside")),
});

/** For anybody, and without the server once it is loaded. */
const alone = createRoute({
  getParentRoute: () => root,
  id: "alone",
  component: lazyRouteComponent(styled(() => import("./shell/Alone"))),
});

const validateSearch = (search: Record<string, unknown>) => search as Search;
type Screen = Parameters<typeof lazyRouteComponent>[0];

function Broken({ error }: { error: unknown }) {
  return (
    <Page title="This page cannot be displayed">
      <Trouble error={error} again={() => router.invalidate()} />
    </Page>
  );
}

/** A screen that needs more styles than the first look. */
function styled(load: Screen): Screen {
  return async () => (await Promise.all([load(), import("./styles/rest")]))[0];
}

function screen(path: string, load: Screen) {
  return createRoute({
    getParentRoute: () => inside,
    path,
    validateSearch,
    component: lazyRouteComponent(path === "/" ? load : styled(load)),
    // What breaks one screen leaves the menu, and with it a way to the others.
    errorComponent: Broken,
  });
}

function door(path: string, load: Screen) {
  return createRoute({
    getParentRoute: () => outside,
    path,
    validateSearch,
    component: lazyRouteComponent(styled(load)),
  });
}

const screens = [
  screen("/", () => import("./overview/Overview")),
  screen("/setup", () => import("./setup/Setup")),
  screen("/events", () => import("./events/Events")),
  screen("/timeline", () => import("./timeline/Timeline")),
  screen("/exports", () => import("./events/Exports")),
  screen("/rules", () => import("./alerts/Rules")),
  screen("/rules/new", () => import("./alerts/NewRule")),
  screen("/rules/$id", () => import("./alerts/Rule")),
  screen("/deliveries", () => import("./deliveries/Deliveries")),
  screen("/deliveries/$id", () => import("./deliveries/Delivery")),
  screen("/endpoints", () => import("./deliveries/Endpoints")),
  screen("/endpoints/$id", () => import("./deliveries/Endpoint")),
  screen("/signing-secrets", () => import("./deliveries/Secrets")),
  screen("/decisions", () => import("./decisions/Decisions")),
  screen("/approvals", () => import("./decisions/Approvals")),
  screen("/policies", () => import("./policies/Policies")),
  screen("/policies/new", () => import("./policies/NewVersion")),
  screen("/policies/versions/$version", () => import("./policies/Version")),
  screen("/keys", () => import("./accounts/Keys")),
  screen("/members", () => import("./accounts/Members")),
  screen("/sessions", () => import("./accounts/Sessions")),
  screen("/security-log", () => import("./accounts/SecurityLog")),
  screen("/system", () => import("./system/System")),
];

/** Any other address: the menu stays, and with it a way on. */
const lost = screen("/$", () => import("./shell/Lost"));

const doors = [
  door("/sign-in", () => import("./accounts/SignIn")),
  door("/register", () => import("./accounts/Register")),
  door("/verify-email", () => import("./accounts/VerifyEmail")),
  door("/forgot-password", () => import("./accounts/ForgotPassword")),
  door("/reset-password", () => import("./accounts/ResetPassword")),
  door("/accept-invitation", () => import("./accounts/AcceptInvitation")),
];

const verify = createRoute({
  getParentRoute: () => alone,
  path: "/verify",
  validateSearch,
  component: lazyRouteComponent(styled(() => import("./proof/Verify"))),
});

export const router = createRouter({
  routeTree: root.addChildren([
    inside.addChildren([...screens, lost]),
    outside.addChildren(doors),
    alone.addChildren([verify]),
  ]),
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  scrollRestoration: true,
});

whenSessionEnds(async () => {
  const { location, matches } = router.state;
  if (!matches.some((match) => match.routeId === inside.id)) return;
  await router.navigate({ to: "/sign-in", search: { next: location.href }, replace: true });
  await endAnswers();
  // What was answered is not the business of whoever signs in next.
  queries.clear();
});
