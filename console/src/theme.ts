// How the console looks: one palette, system fonts (nothing is fetched), calm surfaces.
import { createTheme, type MantineColorsTuple } from "@mantine/core";

const bell: MantineColorsTuple = [
  "#eef1fb",
  "#dbe1f3",
  "#b5c1e6",
  "#8c9fd9",
  "#6a82ce",
  "#5470c8",
  "#4866c5",
  "#3956ae",
  "#304c9c",
  "#25418a",
];

/** Menus, suggestions and tips belong to a screen, also for who finds their way by its landmarks. */
const IN_SCREEN = { target: "main" };

export const theme = createTheme({
  primaryColor: "bell",
  colors: { bell },
  primaryShade: { light: 7, dark: 5 },
  autoContrast: true,
  defaultRadius: "md",
  fontFamily: "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: "650" },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Tooltip: { defaultProps: { withArrow: true, openDelay: 250, portalProps: IN_SCREEN } },
    // What Mantine would put first into a menu takes the focus without being an item of it.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Popover: { defaultProps: { portalProps: IN_SCREEN } },
    Table: { defaultProps: { verticalSpacing: "xs", highlightOnHover: true } },
    Drawer: { defaultProps: { position: "right", size: "lg", closeButtonProps: { "aria-label": "Close" } } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Dismiss" } } },
    Modal: { defaultProps: { centered: true, closeButtonProps: { "aria-label": "Close" } } },
    // The head of a dialog would be taken for the page's.
    DrawerHeader: { defaultProps: { role: "presentation" } },
    ModalHeader: { defaultProps: { role: "presentation" } },
  },
});
