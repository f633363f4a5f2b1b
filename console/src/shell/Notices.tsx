// Where notifications appear.
import "../styles/rest";
import "@mantine/notifications/styles.css";
import { Notifications } from "@mantine/notifications";

export default function Notices() {
  return <Notifications position="bottom-right" />;
}
