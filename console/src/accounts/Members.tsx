// The organization: its name, its members, and its invitations.
import { Group, List, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { useMe } from "../api/queries";
import { Answered } from "../parts/Answered";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { Page, Panel } from "../parts/Page";
import { Stacked } from "../parts/Stacked";
import { When } from "../parts/When";
import { DeleteOrganization } from "./DeleteOrganization";
import { Invitations } from "./Invitations";
import { MemberDialogs } from "./MemberDialogs";
import { Rename } from "./Rename";
import { ROLES } from "./roles";

export default function Members() {
  const members = useQuery({
    queryKey: ["members"],
    queryFn: () => answer(api.GET("/v1/members", { params: { query: { limit: 1000 } } })),
  });
  return (
    <Page title="Members" lead="Who belongs to the organization, and what each member may do.">
      <Rename />
      <Panel title="Members">
        <Answered query={members}>
          {(page) => (
            <Stacked label="Members" head={["Email", "Role", "Joined", ""]}>
              {page.data.map((member) => (
                <MemberRow key={member.id} {...member} />
              ))}
            </Stacked>
          )}
        </Answered>
        <List size="sm" mt="md" className="quiet">
          {Object.entries(ROLES).map(([role, meaning]) => (
            <List.Item key={role}>
              <strong>{role}</strong> {meaning}.
            </List.Item>
          ))}
        </List>
      </Panel>
      <Invitations />
      <DeleteOrganization />
      <MemberDialogs members={members.data?.data ?? []} />
    </Page>
  );
}

function MemberRow({ id, email, role, created_at }: Body<"MemberBody">) {
  const [, change] = useAddress();
  const me = useMe().user;
  const because =
    role === "owner" && me.role !== "owner" ? "Only an owner may change or remove an owner." : undefined;
  return (
    <Table.Tr data-member={email}>
      <Table.Td data-label="Email">
        <Group gap="xs">
          <Text size="sm" fw={600}>
            {email}
          </Text>
          {id === me.id && <Mark word="info">you</Mark>}
        </Group>
      </Table.Td>
      <Table.Td data-label="Role">
        <Mark word={role === "viewer" ? "info" : "pending"}>{role}</Mark>
      </Table.Td>
      <Table.Td data-label="Joined">
        <When at={created_at} />
      </Table.Td>
      <Table.Td data-label="">
        <Group gap="xs" wrap="nowrap" justify="flex-end">
          <ManageButton
            size="compact-sm"
            variant="default"
            because={because}
            onClick={() => change({ role: id })}
          >
            Change role
          </ManageButton>
          <ManageButton
            size="compact-sm"
            variant="default"
            because={because}
            isOwn={id === me.id}
            onClick={() => change({ remove: id })}
          >
            {id === me.id ? "Leave" : "Remove"}
          </ManageButton>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
