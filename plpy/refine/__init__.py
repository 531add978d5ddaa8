"""What fusion gave, refined: repetitions, diversity, blending."""
