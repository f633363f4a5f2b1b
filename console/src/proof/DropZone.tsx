// Where a file is dropped or chosen. A file that misses the zone is taken too: a browser would open it in place of the page.
import { Box, Button, FileButton, Stack, Text, ThemeIcon } from "@mantine/core";
import { IconFileCertificate } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import classes from "./DropZone.module.css";

interface DropZoneProps {
  onFile: (file: File) => void;
}

export function DropZone({ onFile }: DropZoneProps) {
  const isOver = useDrop(onFile);
  return (
    <Box className={classes.zone} data-over={isOver || undefined} data-drop-zone>
      <Stack align="center" gap="xs">
        <ThemeIcon size={48} radius="xl" variant="light" aria-hidden>
          <IconFileCertificate size={26} />
        </ThemeIcon>
        <Text fw={600}>{isOver ? "Let go to verify it" : "Drop an export here"}</Text>
        <Text size="sm" className="quiet">
          A file that ends in <code>.bundle</code> or <code>.bundle.gz</code>, of any size
        </Text>
        <FileButton onChange={(file) => file && onFile(file)}>
          {(props) => (
            <Button {...props} variant="default" size="sm" mt={4}>
              Choose a file
            </Button>
          )}
        </FileButton>
      </Stack>
    </Box>
  );
}

/** Takes files that are dropped anywhere; whether one is over the page now. */
function useDrop(onFile: (file: File) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFile);
  latest.current = onFile;
  useEffect(() => {
    const over = (event: DragEvent) => {
      event.preventDefault();
      setOver(true);
    };
    const out = ({ relatedTarget }: DragEvent) => {
      if (relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file) latest.current(file);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", out);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", out);
      removeEventListener("drop", drop);
    };
  }, []);
  return isOver;
}
