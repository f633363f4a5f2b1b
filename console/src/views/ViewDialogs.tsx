// Dialogs to save, rename and delete a view.
import { Checkbox, Modal, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { answer, api } from "../api/client";
import { useMayManage } from "../api/queries";
import { Confirm } from "../parts/Confirm";
import { Form } from "../parts/Form";
import type { Dialog } from "./ViewActions";
import { type List, renewViews, type View } from "./views";

interface ViewDialogsProps {
  dialog: Dialog;
  list: List;
  /** What the screen searches for. */
  search: View["search"];
  /** The view that the screen shows, if it is one. */
  open: View | undefined;
  close: () => void;
  /** The screen shows this view from now on, or none. */
  onOpen: (id: string | undefined) => void;
}

export default function ViewDialogs({ dialog, list, search, open, close, onOpen }: ViewDialogsProps) {
  const done = (message: string, id: string | undefined) => {
    notifications.show({ color: "teal", message });
    void renewViews();
    onOpen(id);
    close();
  };
  if (dialog === "save") return <Save list={list} search={search} close={close} done={done} />;
  if (open === undefined) return null;
  if (dialog === "rename") return <Rename view={open} close={close} done={done} />;
  return (
    <Confirm
      title={`Delete the view “${open.name}”?`}
      action="Delete view"
      act={() => answer(api.DELETE("/v1/views/{id}", { params: { path: { id: open.id } } }))}
      done={() => done(`The view “${open.name}” was deleted.`, undefined)}
      close={close}
    >
      <Text size="sm">
        {open.shared ? "It disappears for everyone in the organization. " : ""}
        The {list} themselves stay.
      </Text>
    </Confirm>
  );
}

const nameFault = (name: string) => (name.trim() === "" ? "Enter a name." : null);

interface DialogProps {
  close: () => void;
  done: (message: string, id: string | undefined) => void;
}

function Save({ list, search, close, done }: DialogProps & { list: List; search: View["search"] }) {
  const mayManage = useMayManage();
  const form = useForm({ initialValues: { name: "", shared: false }, validate: { name: nameFault } });
  return (
    <Modal opened onClose={close} title="Save view">
      <Form
        form={form}
        send={({ name, shared }) =>
          answer(api.POST("/v1/views", { body: { list, name: name.trim(), search, shared } }))
        }
        done={({ id, name }) => done(`The view “${name}” is in the menu.`, id)}
        action="Save"
        cancel={close}
      >
        <TextInput
          label="Name"
          description={
            list === "events"
              ? "Keeps the search, the time range and the columns."
              : "Keeps the search and the time range."
          }
          maxLength={80}
          autoComplete="off"
          data-autofocus
          {...form.getInputProps("name")}
        />
        <Checkbox
          label="Share with everyone in the organization"
          description={mayManage ? undefined : "Only admins and owners can share views."}
          disabled={!mayManage}
          {...form.getInputProps("shared", { type: "checkbox" })}
        />
      </Form>
    </Modal>
  );
}

function Rename({ view, close, done }: DialogProps & { view: View }) {
  const form = useForm({ initialValues: { name: view.name }, validate: { name: nameFault } });
  return (
    <Modal opened onClose={close} title={`Rename the view “${view.name}”`}>
      <Form
        form={form}
        send={({ name }) =>
          answer(
            api.PATCH("/v1/views/{id}", { params: { path: { id: view.id } }, body: { name: name.trim() } }),
          )
        }
        done={({ id, name }) => done(`The view is now called “${name}”.`, id)}
        action="Rename"
        disabled={form.values.name.trim() === view.name}
        cancel={close}
      >
        <TextInput
          label="Name"
          maxLength={80}
          autoComplete="off"
          data-autofocus
          {...form.getInputProps("name")}
        />
      </Form>
    </Modal>
  );
}
