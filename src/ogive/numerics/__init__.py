"""Arrays in, arrays out: the numerical ground that everything else stands on."""
