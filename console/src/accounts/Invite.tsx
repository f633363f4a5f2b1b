// Invites a member. If the server sends no email, the person who invites passes on the link.
import { Modal } from "@mantine/core";
import { useForm } from "@mantine/form";
import { answer, api, type Body } from "../api/client";
import { Form } from "../parts/Form";
import { EmailField, emailFault } from "./fields";
import { RoleField } from "./roles";

interface InviteProps {
  close: () => void;
  onInvited: (invitation: Body<"InvitationBody">) => void;
}

export function Invite({ close, onInvited }: InviteProps) {
  const form = useForm({
    initialValues: { email: "", role: "viewer" as Body<"MemberRole"> },
    validate: { email: emailFault },
  });
  return (
    <Modal opened onClose={close} title="Invite member">
      <Form
        form={form}
        send={({ email, role }) =>
          answer(api.POST("/v1/invitations", { body: { email: email.trim(), role } }))
        }
        done={onInvited}
        action="Invite"
        cancel={close}
      >
        <EmailField
          description="Any earlier invitation for this address stops working."
          autoComplete="off"
          data-autofocus
          {...form.getInputProps("email")}
        />
        <RoleField {...form.getInputProps("role")} />
      </Form>
    </Modal>
  );
}
