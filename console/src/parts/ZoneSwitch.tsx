// The time zone of all times on the screen; a click changes it.
import { Button } from "@mantine/core";
import { useZone, zoneName } from "./clock";

export function ZoneSwitch() {
  const [zone, setZone] = useZone();
  const name = zoneName(zone, new Date());
  const other = zone === "utc" ? "local" : "utc";
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      onClick={() => setZone(other)}
      aria-label={`Times are in ${name}. Show them in ${zoneName(other, new Date())}`}
      title={`Times are in ${name}. Click for ${zoneName(other, new Date())}.`}
    >
      {name}
    </Button>
  );
}
