"""What can be acted in. Each kind of world is a package that implements `matassay.core.World`."""
