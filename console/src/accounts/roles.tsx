// The roles of members, and what each can do.
import { Radio, type RadioGroupProps, Stack } from "@mantine/core";
import { useMe } from "../api/queries";

export const ROLES: Record<string, string> = {
  viewer: "can view everything except the text of keys, and change nothing",
  admin: "can also change rules, policies, keys and members, and decide approvals",
  owner: "can also add and remove owners and delete the organization; at least one owner is required",
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
