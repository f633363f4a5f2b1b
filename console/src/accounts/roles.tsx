// The parts that people play, and what each may do.
import { Radio, type RadioGroupProps, Stack } from "@mantine/core";
import { useMe } from "../api/queries";

export const ROLES: Record<string, string> = {
  viewer: "sees everything, keys without their text too, and changes nothing",
  admin: "also changes rules, policies, keys and members, and decides approvals",
  owner: "also makes and unmakes owners, and has the organisation deleted; there is always at least one",
};

/** Only an owner makes owners. */
export function RoleField(props: Omit<RadioGroupProps, "children">) {
  const isOwner = useMe().user.role === "owner";
  return (
    <Radio.Group label="Role" required {...props}>
      <Stack gap={8} mt={6}>
        {Object.entries(ROLES).map(([role, meaning]) => (
          <Radio
            key={role}
            value={role}
            label={role}
            description={`${meaning}.`}
            disabled={role === "owner" && !isOwner}
          />
        ))}
      </Stack>
    </Radio.Group>
  );
}
