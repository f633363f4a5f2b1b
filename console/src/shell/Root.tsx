// Around every screen: notifications. The overview has none, so their code loads with the next screen.
import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";

const Notices = lazy(() => import("./Notices"));

export default function Root() {
  const isOverview = useLocation({ select: ({ pathname }) => pathname === "/" });
  const [wasElsewhere, setWasElsewhere] = useState(false);
  useEffect(() => {
    if (!isOverview) setWasElsewhere(true);
  }, [isOverview]);
  return (
    <>
      <Suspense>{wasElsewhere && <Notices />}</Suspense>
      <Outlet />
    </>
  );
}
